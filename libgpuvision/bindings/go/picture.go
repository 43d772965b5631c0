// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

import (
	"image"
	"image/draw"
)

// FromImage makes an image of one of the standard library. They share their memory where there is a
// format for it: GRAY8 of [image.Gray], RGBA8 of [image.NRGBA] and of an [image.RGBA] that is
// opaque, I420 or Y444 of full range of an [image.YCbCr] as JPEG has it (4:2:0, 4:4:4). All others
// are copied to RGBA8. It fails with ErrInvalidArgument if the picture is empty or too large.
func FromImage(picture image.Image) (*Image, error) {
	bounds := picture.Bounds()
	if bounds.Empty() {
		return nil, invalid("the picture is empty")
	}
	if _, err := layoutOf(FormatRGBA8, bounds.Dx(), bounds.Dy(), 0); err != nil {
		return nil, err
	}
	at := bounds.Min
	switch p := picture.(type) {
	case *image.Gray:
		return fromPix(FormatGray8, bounds, p.Pix[p.PixOffset(at.X, at.Y):], p.Stride)
	case *image.NRGBA:
		return fromPix(FormatRGBA8, bounds, p.Pix[p.PixOffset(at.X, at.Y):], p.Stride)
	case *image.RGBA:
		if p.Opaque() {
			return fromPix(FormatRGBA8, bounds, p.Pix[p.PixOffset(at.X, at.Y):], p.Stride)
		}
	case *image.YCbCr:
		if p.SubsampleRatio == image.YCbCrSubsampleRatio420 && at.X%2 == 0 && at.Y%2 == 0 {
			return fromYCbCr(FormatI420, p)
		}
		if p.SubsampleRatio == image.YCbCrSubsampleRatio444 {
			return fromYCbCr(FormatY444, p)
		}
	}
	straight := image.NewNRGBA(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
	draw.Draw(straight, straight.Rect, picture, at, draw.Src)
	return fromPix(FormatRGBA8, straight.Rect, straight.Pix, straight.Stride)
}

func fromPix(format Format, bounds image.Rectangle, pix []byte, stride int) (*Image, error) {
	return WrapPlanes(format, bounds.Dx(), bounds.Dy(), []Plane{{pix, stride}})
}

func fromYCbCr(format Format, p *image.YCbCr) (*Image, error) {
	at := p.Rect.Min
	chroma := p.COffset(at.X, at.Y)
	i, err := WrapPlanes(format, p.Rect.Dx(), p.Rect.Dy(), []Plane{
		{p.Y[p.YOffset(at.X, at.Y):], p.YStride},
		{p.Cb[chroma:], p.CStride},
		{p.Cr[chroma:], p.CStride},
	})
	if err == nil {
		i.Matrix, i.Range = ColorMatrixBT601, ColorRangeFull
	}
	return i, err
}

// ToImage makes an image of the standard library: an [image.Gray] of GRAY8 and an [image.NRGBA] of
// RGBA8, which share the memory of i, and an [image.NRGBA] of its own of what else has R, G and B in
// one plane. It fails with ErrUnsupported of other formats, and of images in CUDA memory.
func (i *Image) ToImage() (image.Image, error) {
	if i.memory != MemoryHost {
		return nil, &Error{ErrUnsupported, "the image is in CUDA memory"}
	}
	bounds := image.Rect(0, 0, i.width, i.height)
	switch i.format {
	case FormatGray8:
		return &image.Gray{Pix: i.Pix(0), Stride: i.Stride(0), Rect: bounds}, nil
	case FormatRGBA8:
		return &image.NRGBA{Pix: i.Pix(0), Stride: i.Stride(0), Rect: bounds}, nil
	case FormatRGB8:
		return i.copied(3, 0, 1, 2, opaque), nil
	case FormatBGR8:
		return i.copied(3, 2, 1, 0, opaque), nil
	case FormatRGBX8:
		return i.copied(4, 0, 1, 2, opaque), nil
	case FormatBGRX8:
		return i.copied(4, 2, 1, 0, opaque), nil
	case FormatBGRA8:
		return i.copied(4, 2, 1, 0, 3), nil
	case FormatARGB8:
		return i.copied(4, 1, 2, 3, 0), nil
	case FormatABGR8:
		return i.copied(4, 3, 2, 1, 0), nil
	case FormatXRGB8:
		return i.copied(4, 1, 2, 3, opaque), nil
	case FormatXBGR8:
		return i.copied(4, 3, 2, 1, opaque), nil
	}
	return nil, &Error{ErrUnsupported, "the format has no image of the standard library"}
}

const opaque = -1 // in place of the byte of alpha

// copied takes the channels from bytes of a pixel of size bytes.
func (i *Image) copied(size, red, green, blue, alpha int) *image.NRGBA {
	to := image.NewNRGBA(image.Rect(0, 0, i.width, i.height))
	for y := 0; y < i.height; y++ {
		from, row := i.Pix(0)[y*i.Stride(0):], to.Pix[y*to.Stride:]
		for x := 0; x < i.width; x++ {
			p, q := from[x*size:(x+1)*size], row[4*x:4*x+4]
			q[0], q[1], q[2], q[3] = p[red], p[green], p[blue], 255
			if alpha != opaque {
				q[3] = p[alpha]
			}
		}
	}
	return to
}
